package op

var eltwiseRows = []Row{}
