/** Checks the scopes of a key. */
import type { KeyScope } from '../../ports/control.ts';

/** The scope `admin` grants all others. */
export const allows = (scopes: readonly KeyScope[], required: KeyScope): boolean =>
  scopes.includes(required) || scopes.includes('admin');
