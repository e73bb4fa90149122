/** The result of a lookup of a stored query. */
import type { QueryVersion } from '../../engine/query/definition.ts';

export type QueryLookup =
  | { readonly kind: 'query'; readonly query: QueryVersion }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'version_unknown' }
  | { readonly kind: 'archived' };
