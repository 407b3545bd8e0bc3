package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tillerman/db"
	"tillerman/tui/plain"
)

func (a *app) stats() *cobra.Command {
	cmd := &cobra.Command{
		Use: "stats", Short: "Figures over all runs",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return &usageError{"say which figures: tillerman stats cancel"}
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "cancel", Short: "How long runs take to stop when they are told to",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.look(cmd.Context(), func(store *db.Store) error {
				stats, err := stopStats(cmd.Context(), store)
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(stats)
				}
				return a.printStops(store, stats)
			})
		},
	})
	return cmd
}

// spread is how durations in ms are spread. Nil figures do not exist.
type spread struct {
	Count int    `json:"count"`
	P50   *int64 `json:"p50_ms"`
	P95   *int64 `json:"p95_ms"`
	Max   *int64 `json:"max_ms"`
}

// spreadOf measures durations. Percentiles are by nearest rank: each is a duration that occurred.
func spreadOf(ms []int64) spread {
	s := spread{Count: len(ms)}
	if len(ms) == 0 {
		return s
	}
	sorted := slices.Sorted(slices.Values(ms))
	rank := func(percent int) *int64 {
		n := (percent*len(sorted) + 99) / 100 // rounded up
		return &sorted[n-1]
	}
	s.P50, s.P95, s.Max = rank(50), rank(95), rank(100)
	return s
}

// stops are the figures of stats cancel.
type stops struct {
	Asked    int               `json:"asked"` // cancels and kills
	Cancels  int               `json:"cancels"`
	Kills    int               `json:"kills"`
	TooLate  int               `json:"too_late"` // the run ended by itself
	Pending  int               `json:"pending"`
	Stopped  spread            `json:"requested_to_stopped"`
	Observed spread            `json:"requested_to_observed"`
	Points   map[string]spread `json:"stopped_by_safe_point"`
}

// stopPage is how many cancels and kills are read at once.
const stopPage = 1000

func stopStats(ctx context.Context, store *db.Store) (stops, error) {
	out := stops{Points: map[string]spread{}}
	var stopped, observed []int64
	points := map[string][]int64{}
	for after := int64(0); ; {
		page, err := store.Stops(ctx, after, stopPage)
		if err != nil {
			return out, err
		}
		for _, s := range page {
			after = s.ID
			out.Asked++
			if s.Kind == "kill" {
				out.Kills++
			} else {
				out.Cancels++
			}
			switch {
			case s.StoppedMS != nil:
				stopped = append(stopped, *s.StoppedMS)
				points[s.Point] = append(points[s.Point], *s.StoppedMS)
			case s.Point == db.TooLate:
				out.TooLate++
				continue // what was seen too late stopped nothing
			default:
				out.Pending++
			}
			if s.ObservedMS != nil {
				observed = append(observed, *s.ObservedMS)
			}
		}
		if len(page) < stopPage {
			break
		}
	}
	out.Stopped, out.Observed = spreadOf(stopped), spreadOf(observed)
	for point, ms := range points {
		out.Points[point] = spreadOf(ms)
	}
	return out, nil
}

func (a *app) printStops(store *db.Store, s stops) error {
	p := a.printer(store)
	if s.Asked == 0 {
		p.Note("no run was asked to stop")
		return p.Err()
	}
	p.Note("%d asked to stop (%d cancel, %d kill): %d stopped, %d too late, %d pending", s.Asked, s.Cancels, s.Kills, s.Stopped.Count, s.TooLate, s.Pending)
	p.Note("%-36s %6s %10s %10s %10s", "", "count", "p50", "p95", "max")
	line := func(what string, s spread) {
		if s.Count == 0 {
			p.Note("%-36s %6s %10s %10s %10s", what, "none", "-", "-", "-")
			return
		}
		p.Note("%-36s %6d %10s %10s %10s", what, s.Count, plain.Duration(*s.P50), plain.Duration(*s.P95), plain.Duration(*s.Max))
	}
	line("requested to stopped", s.Stopped)
	for _, point := range slices.Sorted(maps.Keys(s.Points)) {
		line("  at "+strings.TrimSpace(fmt.Sprintf("%.30s", name(point))), s.Points[point])
	}
	line("requested to observed", s.Observed)
	return p.Err()
}
