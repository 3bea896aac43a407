package op

// families lists the rows of every family of operators, one line per file.
func families() [][]Row {
	return [][]Row{
		castRows,
		concatRows,
		constantRows,
		convRows,
		eltwiseRows,
		dropoutRows,
		elementRows,
		gatherRows,
		logicRows,
		matmulRows,
		moveRows,
		normRows,
		padRows,
		pickRows,
		poolRows,
		reduceRows,
		resizeRows,
		reverseRows,
		scatterRows,
		shapeRows,
		sliceRows,
		triluRows,
	}
}
