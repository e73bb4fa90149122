/** Fields of a filter whose values are in the address. */
import type { ReactNode } from 'react';
import { defined } from '../../base/defined.ts';
import { setSearch, useSearch } from '../router.tsx';

interface TextFilterProps {
  /** in the address */
  readonly name: string;
  /** read aloud; absent where a label surrounds the field */
  readonly label?: string;
  readonly placeholder?: string;
  /** id of the list of suggestions */
  readonly list?: string;
  readonly className?: string;
}

/** It applies when the field is left, or with Enter: each letter would be a request. */
export function TextFilter({ name, label, ...others }: TextFilterProps): ReactNode {
  const value = useSearch().get(name) ?? '';
  const apply = (text: string): void => setSearch({ [name]: text.trim() });
  return (
    <input
      key={value}
      type="search"
      spellCheck={false}
      defaultValue={value}
      {...defined({ 'aria-label': label })}
      {...others}
      onBlur={(event) => apply(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') apply(event.currentTarget.value);
      }}
    />
  );
}

const spans = [
  ['', 'any time'],
  ['1', 'last hour'],
  ['24', 'last day'],
  ['168', 'last week'],
  ['720', 'last 30 days'],
] as const;

const hourMs = 3_600_000;

/** @returns the start of the chosen time; undefined: any time */
export function sinceOf(search: URLSearchParams, now: number): string | undefined {
  const hours = Number(search.get('hours'));
  return hours > 0 ? new Date(now - hours * hourMs).toISOString() : undefined;
}

export const TimeFilter = ({ label }: { readonly label: string }): ReactNode => (
  <select
    aria-label={label}
    value={useSearch().get('hours') ?? ''}
    onChange={(event) => setSearch({ hours: event.currentTarget.value })}
  >
    {spans.map(([value, text]) => (
      <option key={value} value={value}>
        {text}
      </option>
    ))}
  </select>
);
