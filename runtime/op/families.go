package op

// families lists the rows of every family of operators, one line per file.
func families() [][]Row {
	return [][]Row{
		castRows,
		concatRows,
		constantRows,
		controlRows,
		convRows,
		dropoutRows,
		elementRows,
		eltwiseRows,
		eyeLikeRows,
		gatherRows,
		logicRows,
		matmulRows,
		moveRows,
		normRows,
		optionalRows,
		padRows,
		pickRows,
		poolRows,
		reduceRows,
		resizeRows,
		reverseRows,
		scatterRows,
		sequenceRows,
		shapeRows,
		sliceRows,
		triluRows,
	}
}
