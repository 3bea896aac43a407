module github.com/nacre-ml/nacre

go 1.26
