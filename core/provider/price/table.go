package price

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Table finds prices and windows by kind of provider and name of model. It is safe for concurrent use.
//
// A user's entries hold for every kind and win over the catalog. The catalog knows the kinds "anthropic", "openai" and
// "openrouter" and other vendors by their catalog names; it has nothing for "compatible", whose prices nobody but the
// user can know.
//
// A name matches an entry when they are equal, else when they are equal but for
//   - a vendor's prefix: anthropic/claude-x
//   - a dated snapshot at the end: -20250514, -2025-05-14
//   - a dot or a hyphen between the digits of a version: 4.5, 4-5
//
// else when they have the same words in another order (claude-4.5-haiku, claude-haiku-4.5: routers answer under names
// of their own). A looser way counts only when all entries that fit agree.
type Table struct {
	user    index[Price]
	catalog func() catalog
}

// model is a catalog entry. Price is nil when the catalog gives none.
type model struct {
	price  *Price
	window int64
}

// New makes a table of the user's entries, by model, over the catalog. A negative price is an error that names the
// model. The catalog is read when it is first needed.
func New(user map[string]Entry) (*Table, error) {
	t := &Table{catalog: sync.OnceValue(loadCatalog)}
	for _, name := range slices.Sorted(maps.Keys(user)) {
		e := user[name]
		for _, field := range []struct {
			name  string
			price *int64
		}{{"input", e.Input}, {"output", e.Output}, {"cache read", e.CacheRead}, {"cache write", e.CacheWrite}} {
			if field.price != nil && *field.price < 0 {
				return nil, fmt.Errorf("price of model %q: %s is negative", name, field.name)
			}
		}
		t.user.add(name, e.price(name))
	}
	return t, nil
}

func (e Entry) price(name string) Price {
	if e.Input == nil || e.Output == nil {
		return Price{} // found, but without a price: it hides the catalog's
	}
	p := Price{Input: *e.Input, Output: *e.Output, CacheRead: *e.Input, CacheWrite: *e.Input}
	if e.CacheRead != nil {
		p.CacheRead = *e.CacheRead
	}
	if e.CacheWrite != nil {
		p.CacheWrite = *e.CacheWrite
	}
	p.Model, p.Source = name, Settings
	return p
}

// Price is the price of a model; false when it is not known. Ask with the name of the model that answered.
func (t *Table) Price(kind, name string) (Price, bool) {
	if p, ok := t.user.find(name, samePrice); ok {
		return p, p.Source != ""
	}
	m, ok := t.catalog().find(kind, name, func(a, b model) bool {
		return a.price != nil && b.price != nil && samePrice(*a.price, *b.price)
	})
	if !ok || m.price == nil {
		return Price{}, false
	}
	return *m.price, true
}

// Window is how many tokens a model can hold, input and output together; false when it is not known.
func (t *Table) Window(kind, name string) (int64, bool) {
	m, ok := t.catalog().find(kind, name, func(a, b model) bool { return a.window == b.window })
	return m.window, ok && m.window > 0
}

// samePrice says whether two entries cost the same, whatever their names.
func samePrice(a, b Price) bool {
	b.Model = a.Model
	return a == b
}
