/** Merges several values for one input. They come in the order of the definition's edges. */
import type { JsonValue } from '../json.ts';
import type { MergeStrategy } from './definition.ts';

export interface Contribution {
  /** the source node's label, or its id if it has none or shares it */
  readonly source: string;
  readonly value: JsonValue;
}

export function merge(strategy: MergeStrategy, contributions: readonly Contribution[]): JsonValue {
  switch (strategy) {
    case 'last_write_wins':
      return contributions.at(-1)?.value ?? null;
    case 'concat':
      // The lens document joins texts with a blank line.
      return contributions.map(({ value }) => asText(value)).join('\n\n');
    case 'array':
      return contributions.map(({ value }) => value);
    case 'json_object':
      return Object.fromEntries(contributions.map(({ source, value }) => [source, value]));
  }
}

const asText = (value: JsonValue): string => (typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value));
