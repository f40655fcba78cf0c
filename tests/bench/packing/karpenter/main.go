// Command karpenter-packing decides with Karpenter's own scheduler on manifests, so that another one can be compared
// with it on the same input.
//
//	karpenter-packing -f manifests.yaml -instance-types catalogue.json [-repeat N]
//	karpenter-packing -serve -instance-types catalogue.json
//
// With -serve it reads lines: the path of a file of manifests, or an empty line for the last file once more. It answers
// each with one line, a decision or {"error": ...}. Only what Karpenter does between having listed the pods and having
// its new claims is timed.
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
	repeat := flag.Int("repeat", 1, "decide this often, from scratch each time")
	processors := flag.Int("gomaxprocs", 2, "how many processors to use")
	catalogue := flag.String("instance-types", "", "catalogue in the JSON of the KWOK provider; without it, the provider's own")
	var how policies
	flag.StringVar(&how.preferences, "preference-policy", "Respect", "Respect or Ignore")
	flag.StringVar(&how.minValues, "min-values-policy", "Strict", "Strict or BestEffort")
	flag.IntVar(&how.concurrency, "concurrency", 2, "goroutines that look at nodes and claims for a pod")
	flag.DurationVar(&how.timeout, "timeout", 0, "give up on what is left after so long; 0 is never, Karpenter's own is 1m")
	flag.Parse()
	if flag.NArg() != 0 || *serve == (*file != "") || *repeat < 1 {
		return fmt.Errorf("give either -f FILE or -serve, and nothing that is not an option")
	}
	runtime.GOMAXPROCS(*processors)
	peer, err := newKarpenter(*catalogue, how)
	if err != nil {
		return err
	}
	if *serve {
		return answer(peer, os.Stdin, os.Stdout)
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
