/** In place of data of a run that the session may not see. */
import type { ReactNode } from 'react';
import { useSession } from '../shell/use-session.ts';

export const Hidden = (): ReactNode => (
  <p className="dim">
    hidden: your session lacks <code>payloads:read</code>
  </p>
);

/** Undefined session: outside the shell. The server decides; this only explains. */
export function useMaySeePayloads(): boolean {
  const scopes = useSession()?.scopes ?? ['admin'];
  return scopes.includes('payloads:read') || scopes.includes('admin');
}
