/** A failed request. If the key lacks a scope, it says which one, and how to get a key that has it. */
import type { ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { ApiError, type Session } from '../api.ts';
import { ErrorText } from './error-text.tsx';

interface RefusalProps {
  readonly error: unknown;
  /** what the request needs */
  readonly scope: string;
  readonly onRetry?: () => void;
}

export function Refusal({ error, scope, onRetry }: RefusalProps): ReactNode {
  const subject = useQueryClient().getQueryData<Session>(['session'])?.subject;
  if (!(error instanceof ApiError) || error.code !== 'missing_scope')
    return onRetry === undefined ? <ErrorText error={error} /> : <ErrorText error={error} onRetry={onRetry} />;
  return (
    <div className="empty" role="alert">
      <h2>
        The scope <code>{scope}</code> is missing
      </h2>
      <p>
        {subject === undefined ? 'The key of this session' : `The key of this session, ${subject},`} does not have it. Sign in
        with a key that does:
      </p>
      <pre tabIndex={0}>npx stepwell keys create --scopes runs:read,{scope}</pre>
    </div>
  );
}
