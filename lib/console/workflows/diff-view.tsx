/** Differences of two definitions: each changed node, edge and option with its values before and after. */
import type { ReactNode } from 'react';
import type { JsonValue } from '../../engine/json.ts';
import type { Difference, ValueChange } from './definition-diff.ts';
import { lineDiff } from './line-diff.ts';

const signs = { added: '+', removed: '−', changed: '≠' } as const;
const tones = { added: 'good', removed: 'bad', changed: 'live' } as const;

export const DiffView = ({ differences }: { readonly differences: readonly Difference[] }): ReactNode =>
  differences.length === 0 ? (
    <p className="none">They do the same.</p>
  ) : (
    <ul className="diff" aria-label="Differences">
      {differences.map((difference) => (
        <li key={`${difference.part} ${difference.name}`} className="card">
          <DifferenceView difference={difference} />
        </li>
      ))}
    </ul>
  );

const DifferenceView = ({ difference: { part, name, change, values } }: { readonly difference: Difference }): ReactNode => (
  <>
    <p className="diff-name">
      <span className={`diff-sign ${tones[change]}`}>
        <span aria-hidden="true">{signs[change]}</span> {change}
      </span>
      <span className="dim">{part}</span>
      <b>
        <bdi>{name}</bdi>
      </b>
    </p>
    {values.map((value) => (
      <ValueView key={value.pointer} value={value} />
    ))}
  </>
);

const shown = (value: JsonValue | undefined): string => {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
};

function ValueView({ value: { pointer, before, after } }: { readonly value: ValueChange }): ReactNode {
  const lines = (
    before === undefined
      ? shown(after)
          .split('\n')
          .map((text) => ({ kind: 'added' as const, text }))
      : after === undefined
        ? shown(before)
            .split('\n')
            .map((text) => ({ kind: 'removed' as const, text }))
        : lineDiff(shown(before), shown(after))
  ).map((line, index) => ({ ...line, index }));
  return (
    <figure className="diff-value">
      {pointer === '' ? null : (
        <figcaption>
          <code>{pointer}</code>
        </figcaption>
      )}
      <pre tabIndex={0}>
        {lines.map(({ kind, text, index }) => (
          <span key={index} className={`line ${kind}`}>
            <span aria-hidden="true">{kind === 'same' ? '  ' : kind === 'added' ? '+ ' : '− '}</span>
            {kind === 'same' ? null : <span className="hidden">{kind}: </span>}
            {text}
            {'\n'}
          </span>
        ))}
      </pre>
    </figure>
  );
}
