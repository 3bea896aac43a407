package op

var shapeRows = []Row{}
