package op

var normRows = []Row{}
