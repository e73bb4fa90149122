/** An error with what to do next. One panel that fails leaves the others as they are. */
import type { ReactNode } from 'react';
import { ApiError } from '../api.ts';

interface ErrorTextProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
}

export const ErrorText = ({ error, onRetry }: ErrorTextProps): ReactNode => (
  <div role="alert" className="error">
    <p>{error instanceof Error ? error.message : 'Something failed.'}</p>
    {error instanceof ApiError && error.recovery !== undefined ? <p>{error.recovery}</p> : null}
    {error instanceof ApiError && error.correlationId !== undefined ? (
      <p className="dim">
        {error.code}, correlation id <code>{error.correlationId}</code>
      </p>
    ) : null}
    {onRetry === undefined ? null : (
      <button type="button" onClick={onRetry}>
        Try again
      </button>
    )}
  </div>
);
