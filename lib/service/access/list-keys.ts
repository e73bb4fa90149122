/** Lists API keys, newest first, including revoked and expired keys. */
import type { Scope } from '../../engine/ids.ts';
import type { KeyPage, KeyPosition } from '../../ports/control.ts';
import type { Deps } from '../deps.ts';

export const listKeys = (
  { keys }: Pick<Deps, 'keys'>,
  scope: Scope,
  options: { readonly limit: number; readonly after?: KeyPosition },
): Promise<KeyPage> => keys.listKeys(scope, options);
