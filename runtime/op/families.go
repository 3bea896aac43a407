package op

// families lists the rows of every family of operators, one line per file.
func families() [][]Row {
	return [][]Row{
		castRows,
		concatRows,
		constantRows,
		convRows,
		eltwiseRows,
		gatherRows,
		logicRows,
		matmulRows,
		moveRows,
		normRows,
		poolRows,
		reduceRows,
		resizeRows,
		shapeRows,
		sliceRows,
	}
}
