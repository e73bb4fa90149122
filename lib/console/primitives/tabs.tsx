/** Tabs over one panel, whose id is `view`. The arrow keys move between them. */
import type { KeyboardEvent, ReactNode } from 'react';

const steps: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

interface TabsProps<Tab extends string> {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly tab: Tab;
  readonly counts?: Partial<Readonly<Record<Tab, number>>>;
  readonly onSelect: (tab: Tab) => void;
}

export function Tabs<Tab extends string>({ label, tabs, tab, counts = {}, onSelect }: TabsProps<Tab>): ReactNode {
  const move = ({ key }: KeyboardEvent): void => {
    const step = steps[key];
    const next = step === undefined ? undefined : tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onSelect(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div role="tablist" aria-label={label}>
      {tabs.map((each) => (
        <button
          key={each}
          type="button"
          role="tab"
          id={`tab-${each}`}
          aria-controls="view"
          aria-selected={each === tab}
          tabIndex={each === tab ? 0 : -1}
          onClick={() => onSelect(each)}
          onKeyDown={move}
        >
          {each}
          {counts[each] === undefined ? null : <span className="count">{counts[each]}</span>}
        </button>
      ))}
    </div>
  );
}
