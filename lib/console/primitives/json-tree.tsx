/** A JSON value as a tree. Each level shows its first entries; more appear on demand, so a value of megabytes opens at once. */
import { type ReactNode, useState } from 'react';

const firstEntries = 50;
const maxShownText = 400;

interface TreeProps {
  readonly value: unknown;
  readonly name?: string;
  readonly depth?: number;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

export function JsonTree({ value, name, depth = 0 }: TreeProps): ReactNode {
  const label = name === undefined ? null : <span className="key">{name}: </span>;
  if (!isObject(value))
    return (
      <div className="leaf">
        {label}
        <Leaf value={value} />
      </div>
    );
  return <Branch value={value} label={label} depth={depth} />;
}

function Branch({
  value,
  label,
  depth,
}: {
  readonly value: object;
  readonly label: ReactNode;
  readonly depth: number;
}): ReactNode {
  const [shown, setShown] = useState(firstEntries);
  const [isOpen, setOpen] = useState(depth < 2);
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        <span className="dim">{size}</span>
      </summary>
      {isOpen
        ? entries.slice(0, shown).map(([key, each]) => <JsonTree key={key} name={key} value={each} depth={depth + 1} />)
        : null}
      {isOpen && entries.length > shown ? (
        <button type="button" className="more" onClick={() => setShown(shown + 500)}>
          {entries.length - shown} more
        </button>
      ) : null}
    </details>
  );
}

function Leaf({ value }: { readonly value: unknown }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== 'string') return <span className={`value ${typeof value}`}>{String(value)}</span>;
  const quoted = JSON.stringify(value);
  if (isWhole || quoted.length <= maxShownText) return <span className="value string">{quoted}</span>;
  return (
    <>
      <span className="value string">{`${quoted.slice(0, maxShownText)}…`}</span>{' '}
      <button type="button" className="more" onClick={() => setWhole(true)}>
        all {quoted.length} characters
      </button>
    </>
  );
}
