/** Which scopes let a key do what. */
import type { KeyScope } from '../../ports/control.ts';

/** `admin` grants everything. */
export const allows = (scopes: readonly KeyScope[], required: KeyScope): boolean =>
  scopes.includes(required) || scopes.includes('admin');
