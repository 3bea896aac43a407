package text_test

import (
	"context"
	"fmt"

	"github.com/nacre-ml/nacre/text"
)

func ExampleOpenEmbedder() {
	e, err := text.OpenEmbedder("all-MiniLM-L6-v2", text.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	vectors, err := e.Embed(context.Background(), "a cat", "a dog")
	fmt.Println(len(vectors), err)
}

func ExampleOpenClassifier() {
	c, err := text.OpenClassifier("distilbert-sst2", text.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	labels, err := c.Classify(context.Background(), "What a film!")
	if err == nil {
		fmt.Println(labels[0][0].Name, labels[0][0].Score)
	}
}

func ExampleOpenTokenClassifier() {
	c, err := text.OpenTokenClassifier("bert-base-NER", text.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	entities, err := c.Find(context.Background(), text.AggregateSimple, "Grace Hopper worked in New York.")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range entities[0] {
		fmt.Println(e.Label, e.Text, e.Start, e.End)
	}
}

func ExampleOpenZeroShot() {
	z, err := text.OpenZeroShot("nli-MiniLM2-L6-H768", text.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer z.Close()
	labels, err := z.Classify(context.Background(), "The match ended 3 to 1.", []string{"sports", "weather"}, text.ZeroShotOptions{})
	fmt.Println(labels, err)
}

func ExampleOpenReranker() {
	r, err := text.OpenReranker("ms-marco-MiniLM-L6-v2", text.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	ranks, err := r.Rank(context.Background(), "How tall is it?", "It is blue.", "It is 300 m tall.")
	if err == nil {
		fmt.Println("the best answer is number", ranks[0].Index)
	}
}
