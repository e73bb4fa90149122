/** An error with what to do next. One panel that fails leaves the others as they are. */
import type { ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { ApiError, type Session } from '../api.ts';

interface ErrorTextProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
}

export const ErrorText = ({ error, onRetry }: ErrorTextProps): ReactNode => (
  <div role="alert" className="error">
    {error instanceof ApiError ? (
      <ApiErrorText error={error} />
    ) : (
      <p>{error instanceof Error ? error.message : 'Something failed.'}</p>
    )}
    {onRetry === undefined ? null : (
      <button type="button" onClick={onRetry}>
        Try again
      </button>
    )}
  </div>
);

const ApiErrorText = ({ error }: { readonly error: ApiError }): ReactNode => (
  <>
    {error.required === undefined ? (
      <>
        <p>{error.message}</p>
        {error.recovery === undefined ? null : <p>{error.recovery}</p>}
      </>
    ) : (
      <MissingScope scope={error.required} />
    )}
    {error.errors.length === 0 ? null : (
      <ul aria-label="Errors">
        {error.errors.map(({ pointer, message }) => (
          <li key={`${pointer} ${message}`}>
            {pointer === '' ? null : <code>{pointer}</code>} <bdi>{message}</bdi>
          </li>
        ))}
      </ul>
    )}
    {error.correlationId === undefined ? null : (
      <p className="dim">
        {error.code}, correlation id <code>{error.correlationId}</code>
      </p>
    )}
  </>
);

function MissingScope({ scope }: { readonly scope: string }): ReactNode {
  const subject = useQueryClient().getQueryData<Session>(['session'])?.subject;
  return (
    <>
      <p>
        This session lacks the scope <code>{scope}</code>.
      </p>
      <p>
        It has the rights of {subject === undefined ? 'its key' : <bdi>{subject}</bdi>}. Create a key that has the scope, and sign
        in with it:
      </p>
      <pre tabIndex={0}>npx stepwell keys create --scopes runs:read,{scope}</pre>
    </>
  );
}
