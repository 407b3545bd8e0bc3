package runs

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"tillerman/db"
)

// loadLimit is how many of the newest runs are searched letter by letter; older ones are found by whole words, through
// the store.
const loadLimit = 20_000

// olderLimit is how many older runs a search adds.
const olderLimit = 100

// match is a run in the list, with the letters of its goal that were found.
type match struct {
	row  db.RunRow
	hits []int // byte offsets into the search text
}

// narrowed is what a search has found among the newest runs. What fits a longer query is among them.
type narrowed struct {
	query   string
	targets []string // what was searched
	rows    []int    // which of them fit
}

type order int

const (
	newest order = iota
	costliest
	mostTokens
	longest
	orders
)

var orderNames = [orders]string{"newest", "cost", "tokens", "time"}

// search looks for the query off the UI goroutine: first among the newest runs, then among older ones. A newer search ends
// an older one.
func (m *Model) search() tea.Cmd {
	if m.stop != nil {
		m.stop()
	}
	ctx, stop := context.WithCancel(m.life)
	m.stop = stop
	m.asked++
	life := m.life
	asked, query, all, targets, among, by, store := m.asked, m.field.Value(), m.all, m.targets, m.among, m.order, m.deps.Store
	return func() tea.Msg {
		found := foundMsg{life: life, asked: asked, query: query, by: by}
		if strings.TrimSpace(query) == "" {
			for _, r := range all {
				found.found = append(found.found, match{row: r})
			}
		} else {
			found.found, found.among = find(ctx, query, all, targets, among)
			if len(all) >= loadLimit {
				found.more = older(ctx, store, found, by, all[len(all)-1].ID)
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		arrange(found.found, by, query == "")
		return found
	}
}

// older adds the runs below an id to what was found.
func older(ctx context.Context, store *db.Store, found foundMsg, by order, before int64) tea.Cmd {
	return func() tea.Msg {
		rows, err := store.OlderRunRows(ctx, found.query, before, olderLimit)
		switch {
		case ctx.Err() != nil, err == nil && len(rows) == 0:
			return nil
		case err != nil:
			return loadedMsg{life: found.life, err: err}
		}
		found.found, found.more = slices.Clone(found.found), nil
		for _, r := range rows {
			found.found = append(found.found, match{row: r})
		}
		arrange(found.found, by, false)
		return found
	}
}

// chunk is how many runs are matched between two looks at whether the search is still wanted.
const chunk = 2000

// find ranks the runs that fit a query. before is what a search found earlier: when it was for the beginning of this query,
// in the same list, nothing else can fit.
func find(ctx context.Context, query string, all []db.RunRow, targets []string, before narrowed) ([]match, narrowed) {
	type scored struct {
		match
		score int
	}
	rows, texts := before.rows, targets
	narrower := before.query != "" && strings.HasPrefix(query, before.query) && len(targets) > 0 && len(before.targets) == len(targets) && &before.targets[0] == &targets[0]
	if narrower {
		texts = make([]string, len(rows))
		for i, r := range rows {
			texts[i] = targets[r]
		}
	}
	var ranked []scored
	after := narrowed{query: query, targets: targets}
	for from := 0; from < len(texts) && ctx.Err() == nil; from += chunk {
		to := min(from+chunk, len(texts))
		for _, hit := range fuzzy.FindNoSort(query, texts[from:to]) {
			row := from + hit.Index
			if narrower {
				row = rows[row]
			}
			ranked = append(ranked, scored{match{all[row], hit.MatchedIndexes}, hit.Score})
			after.rows = append(after.rows, row)
		}
	}
	slices.SortStableFunc(ranked, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	found := make([]match, len(ranked))
	for i, r := range ranked {
		found[i] = r.match
	}
	return found, after
}

// arrange sorts what was found; newest first is how it came, and a search is ranked by how well it fits.
func arrange(found []match, by order, unsearched bool) {
	figure := func(r db.RunRow) int64 {
		switch by {
		case costliest:
			if r.CostMicros != nil {
				return *r.CostMicros
			}
			return -1
		case mostTokens:
			return r.Tokens
		case longest:
			return r.DurationMS
		}
		return r.ID
	}
	if by != newest || unsearched {
		sort.SliceStable(found, func(i, j int) bool { return figure(found[i].row) > figure(found[j].row) })
	}
}

// sorted says what the list is sorted by.
func (m *Model) sorted() string {
	if m.order == newest && strings.TrimSpace(m.searched) != "" {
		return "best match"
	}
	return orderNames[m.order]
}
