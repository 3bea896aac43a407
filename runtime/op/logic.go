package op

var logicRows = []Row{}
