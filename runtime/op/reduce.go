package op

var reduceRows = []Row{}
