package loom

// field is one key of a layer in JSON.
type field struct {
	key    string
	always bool             // written even if zero
	in     kinds            // kinds of file with this key
	at     func(*Layer) any // returns the pointer to the field
}

// kinds is a set of kinds of JSON that know a key.
type kinds uint8

const (
	inCheckpoint kinds = 1 << iota
	inSpec
	inBoth = inCheckpoint | inSpec
)

// softmaxNumber stores a Softmax variant as a number, as specs of an architecture do.
type softmaxNumber struct{ at *SoftmaxType }

// fields lists the keys of a layer in file order.
var fields = []field{
	{"z", true, inBoth, func(l *Layer) any { return &l.Z }},
	{"y", true, inBoth, func(l *Layer) any { return &l.Y }},
	{"x", true, inBoth, func(l *Layer) any { return &l.X }},
	{"l", true, inBoth, func(l *Layer) any { return &l.L }},
	{"type", true, inBoth, func(l *Layer) any { return &l.Type }},
	{"activation", true, inBoth, func(l *Layer) any { return &l.Activation }},
	{"dtype", true, inBoth, func(l *Layer) any { return &l.DType }},
	{"input_height", false, inBoth, func(l *Layer) any { return &l.InputHeight }},
	{"input_width", false, inBoth, func(l *Layer) any { return &l.InputWidth }},
	{"input_depth", false, inBoth, func(l *Layer) any { return &l.InputDepth }},
	{"output_height", false, inBoth, func(l *Layer) any { return &l.OutputHeight }},
	{"output_width", false, inBoth, func(l *Layer) any { return &l.OutputWidth }},
	{"output_depth", false, inBoth, func(l *Layer) any { return &l.OutputDepth }},
	{"input_channels", false, inBoth, func(l *Layer) any { return &l.InputChannels }},
	{"filters", false, inBoth, func(l *Layer) any { return &l.Filters }},
	{"kernel_size", false, inBoth, func(l *Layer) any { return &l.KernelSize }},
	{"stride", false, inBoth, func(l *Layer) any { return &l.Stride }},
	{"padding", false, inBoth, func(l *Layer) any { return &l.Padding }},
	{"output_padding", false, inCheckpoint, func(l *Layer) any { return &l.OutputPadding }},
	{"num_heads", false, inBoth, func(l *Layer) any { return &l.NumHeads }},
	{"num_kv_heads", false, inBoth, func(l *Layer) any { return &l.NumKVHeads }},
	{"head_dim", false, inCheckpoint, func(l *Layer) any { return &l.HeadDim }},
	{"query_dim", false, inCheckpoint, func(l *Layer) any { return &l.QueryDim }},
	{"d_model", false, inBoth, func(l *Layer) any { return &l.DModel }},
	{"seq_length", false, inBoth, func(l *Layer) any { return &l.SeqLength }},
	{"rope_freq_base", false, inCheckpoint, func(l *Layer) any { return &l.RopeFreqBase }},
	{"vocab_size", false, inBoth, func(l *Layer) any { return &l.VocabSize }},
	{"embedding_dim", false, inBoth, func(l *Layer) any { return &l.EmbeddingDim }},
	{"num_clusters", false, inBoth, func(l *Layer) any { return &l.NumClusters }},
	{"kmeans_temperature", false, inCheckpoint, func(l *Layer) any { return &l.KMeansTemperature }},
	{"output_mode", false, inBoth, func(l *Layer) any { return &l.OutputMode }},
	{"softmax_type", true, inCheckpoint, func(l *Layer) any { return &l.SoftmaxType }},
	{"softmax_type", false, inSpec, func(l *Layer) any { return softmaxNumber{&l.SoftmaxType} }},
	{"temperature", false, inBoth, func(l *Layer) any { return &l.Temperature }},
	{"softmax_rows", false, inBoth, func(l *Layer) any { return &l.SoftmaxRows }},
	{"softmax_cols", false, inBoth, func(l *Layer) any { return &l.SoftmaxCols }},
	{"entmax_alpha", false, inBoth, func(l *Layer) any { return &l.EntmaxAlpha }},
	{"gumbel_noise", false, inCheckpoint, func(l *Layer) any { return &l.GumbelNoise }},
	{"mask", false, inSpec, func(l *Layer) any { return &l.Mask }},
	{"hierarchy_levels", false, inSpec, func(l *Layer) any { return &l.Hierarchy }},
	{"weights", false, inCheckpoint, func(l *Layer) any { return &l.Weights }},
	{"native", false, inCheckpoint, func(l *Layer) any { return nil }},
	{"scale", false, inCheckpoint, func(l *Layer) any { return nil }},
	{branches, false, inBoth, func(l *Layer) any { return &l.Branches }},
	{"combine_mode", false, inBoth, func(l *Layer) any { return &l.CombineMode }},
	{steps, false, inBoth, func(l *Layer) any { return &l.Steps }},
	{"is_remote_link", false, inSpec, func(l *Layer) any { return &l.Remote }},
	{"target_z", false, inSpec, func(l *Layer) any { return &l.Target[0] }},
	{"target_y", false, inSpec, func(l *Layer) any { return &l.Target[1] }},
	{"target_x", false, inSpec, func(l *Layer) any { return &l.Target[2] }},
	{"target_l", false, inSpec, func(l *Layer) any { return &l.Target[3] }},
	{"use_tiling", false, inBoth, func(l *Layer) any { return &l.UseTiling }},
	{"tile_size", false, inBoth, func(l *Layer) any { return &l.TileSize }},
	{"is_disabled", false, inCheckpoint, func(l *Layer) any { return &l.Disabled }},
	{"meta_rules", false, inCheckpoint, func(l *Layer) any { return &l.Rules }},
	{observed, false, inCheckpoint, func(l *Layer) any { return &l.Observed }},
}

// byKey finds the fields of each kind of JSON by their exact keys.
var byKey = func() map[kinds]map[string]*field {
	m := map[kinds]map[string]*field{inCheckpoint: {}, inSpec: {}}
	for in, keys := range m {
		for i := range fields {
			if f := &fields[i]; f.in&in != 0 {
				keys[f.key] = f
			}
		}
	}
	return m
}()

// find returns the field with this key in a kind of JSON; nil for unknown keys.
func find(key string, in kinds) *field {
	keys := byKey[in]
	if f := keys[key]; f != nil {
		return f
	}
	for k, f := range keys {
		if same(key, k) {
			return f
		}
	}
	return nil
}
