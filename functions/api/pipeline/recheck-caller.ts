/** Checks the caller of a long request again, such as the reader of a stream. */
import { allows } from '../../../lib/api/auth.ts';
import type { KeyId } from '../../../lib/engine/ids.ts';
import type { KeyScope } from '../../../lib/ports/control.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { type OpenSession, authenticateSession } from '../../../lib/service/access/sessions.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import type { CommonTools } from '../operation.ts';

/** The key, and the session of a signed-in person. If their store is unavailable, the stream ends too: the reader reconnects and is authenticated again. */
export async function isStillAllowed(
  deps: Pick<Deps, 'sessions' | 'clock'>,
  authenticator: CommonTools['authenticator'],
  caller: KeyId | undefined,
  session: OpenSession | undefined,
  required: readonly KeyScope[],
): Promise<boolean> {
  if (caller === undefined) return false;
  try {
    const result = await (session === undefined
      ? authenticator.recheck(caller)
      : authenticateSession(deps, authenticator, session.digest));
    return result.kind === 'authenticated' && required.every((scope) => allows(result.key.scopes, scope));
  } catch (error) {
    if (error instanceof Unavailable) return false;
    throw error;
  }
}
