package op

var convRows = []Row{}
