// Command karpenter-packing decides with Karpenter's own scheduler on manifests, so that another one can be compared
// with it on the same input.
//
//	karpenter-packing -f manifests.yaml -instance-types catalogue.json [-repeat N]
//	karpenter-packing -serve -instance-types catalogue.json
//
//	karpenter-packing -consolidate -instance-types catalogue.json
//
// With -serve it reads lines: the path of a file of manifests, or an empty line for the last file once more. It answers
// each with one line, a decision or {"error": ...}. Only what Karpenter does between having listed the pods and having
// its new claims is timed.
//
// With -consolidate it reads lines {"file": ..., "spotToSpot": ..., "each": ...}, and answers each with what Karpenter's
// own consolidation would do with that cluster.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "karpenter-packing:", err)
		os.Exit(2)
	}
}

func run() error {
	file := flag.String("f", "", "manifests to decide on")
	serve := flag.Bool("serve", false, "decide once for every line on stdin")
	consolidate := flag.Bool("consolidate", false, "decide what to consolidate, once for every line on stdin")
	repeat := flag.Int("repeat", 1, "decide this often, from scratch each time")
	processors := flag.Int("gomaxprocs", 2, "how many processors to use")
	catalogue := flag.String("instance-types", "", "catalogue in the JSON of the KWOK provider; without it, the provider's own")
	var how policies
	flag.StringVar(&how.preferences, "preference-policy", "Respect", "Respect or Ignore")
	flag.StringVar(&how.minValues, "min-values-policy", "Strict", "Strict or BestEffort")
	flag.IntVar(&how.concurrency, "concurrency", 2, "goroutines that look at nodes and claims for a pod")
	flag.DurationVar(&how.timeout, "timeout", 0, "give up on what is left after so long; 0 is never, Karpenter's own is 1m")
	flag.Parse()
	if flag.NArg() != 0 || modes(*file != "", *serve, *consolidate) != 1 || *repeat < 1 {
		return fmt.Errorf("give one of -f FILE, -serve and -consolidate, and nothing that is not an option")
	}
	runtime.GOMAXPROCS(*processors)
	peer, err := newKarpenter(*catalogue, how)
	if err != nil {
		return err
	}
	switch {
	case *serve:
		return answer(peer, os.Stdin, os.Stdout)
	case *consolidate:
		return answerConsolidation(peer, os.Stdin, os.Stdout)
	}
	cluster, err := peer.read(*file)
	if err != nil {
		return err
	}
	decision, err := peer.decide(cluster, *repeat)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(decision)
}

func modes(given ...bool) int {
	count := 0
	for _, one := range given {
		if one {
			count++
		}
	}
	return count
}

// question is a line that asks what to consolidate.
type question struct {
	File       string `json:"file"`
	SpotToSpot bool   `json:"spotToSpot"`
	Each       bool   `json:"each"`
}

// answerConsolidation answers one question a line, until there are no more.
func answerConsolidation(peer *karpenter, in io.Reader, out io.Writer) error {
	encoder := json.NewEncoder(out)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		result, err := consolidationOf(peer, lines.Bytes())
		if err != nil {
			result = map[string]string{"error": err.Error()}
		}
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
	return lines.Err()
}

func consolidationOf(peer *karpenter, line []byte) (any, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	cluster, err := peer.read(asked.File)
	if err != nil {
		return nil, err
	}
	return peer.spotToSpot(asked.SpotToSpot).consolidate(cluster, asked.Each)
}

// answer decides once for every line, until there are no more.
func answer(peer *karpenter, in io.Reader, out io.Writer) error {
	var cluster *scenario
	encoder := json.NewEncoder(out)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var result any
		var err error
		if path := lines.Text(); path != "" {
			cluster, err = peer.read(path)
		}
		switch {
		case err != nil:
			cluster = nil
		case cluster == nil:
			err = fmt.Errorf("there is no last file")
		default:
			result, err = peer.decide(cluster, 1)
		}
		if err != nil {
			result = map[string]string{"error": err.Error()}
		}
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
	return lines.Err()
}

// policies are the settings that change what is decided, under the names of Karpenter's own.
type policies struct {
	preferences string
	minValues   string
	concurrency int
	timeout     time.Duration
}
