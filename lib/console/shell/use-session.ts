/** The session of the page, which the shell has read. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Session } from '../api.ts';
import { useNow } from '../primitives/time.tsx';

/** Undefined outside the shell. */
export const useSession = (): Session | undefined => useQuery<Session>({ queryKey: ['session'], enabled: false }).data;

/** Replaces what the pages know of the session. */
export function useSetSession(): (session: Session) => void {
  const queries = useQueryClient();
  return (session) => queries.setQueryData(['session'], session);
}

/** Milliseconds for which the session has `admin`; 0: it has not. */
export function useRaisedMs(): number {
  const now = useNow();
  const { scopes = [], raisedUntil } = useSession() ?? {};
  return raisedUntil === undefined || !scopes.includes('admin') ? 0 : Math.max(0, Date.parse(raisedUntil) - now);
}
