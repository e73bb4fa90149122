/** Translates errors of the RDS Data API. */
import { defined } from '../base/defined.ts';
import type { DatabaseCallError } from '../ports/databases.ts';

const kindsByName: Readonly<Record<string, 'busy' | 'forbidden' | 'misconfigured' | 'refused' | 'timed_out' | 'resuming'>> = {
  BadRequestException: 'refused',
  DatabaseErrorException: 'refused',
  UnsupportedResultException: 'refused',
  ValidationException: 'refused',
  StatementTimeoutException: 'timed_out',
  DatabaseResumingException: 'resuming',
  ThrottlingException: 'busy',
  Throttling: 'busy',
  TooManyRequestsException: 'busy',
  AccessDeniedException: 'forbidden',
  ForbiddenException: 'forbidden',
  UnrecognizedClientException: 'forbidden',
  InvalidSignatureException: 'forbidden',
  CredentialsProviderError: 'forbidden',
  DatabaseNotFoundException: 'misconfigured',
  NotFoundException: 'misconfigured',
  HttpEndpointNotEnabledException: 'misconfigured',
  InvalidSecretException: 'misconfigured',
  SecretsErrorException: 'misconfigured',
};

/** Older clusters report these errors as a `BadRequestException`. */
const kindsByMessage: readonly (readonly [RegExp, DatabaseCallError])[] = [
  [/(row|result|response) size limit/i, { kind: 'too_large' }],
  [/HttpEndpoint is not enabled/i, { kind: 'misconfigured', name: 'HttpEndpointNotEnabledException' }],
  [/^Communications link failure|^Transaction \S+ is not found/i, { kind: 'unreachable', name: 'BadRequestException' }],
];

/** Only the first line is returned, without ARNs: details of the database may contain values or account data. */
const maxMessageLength = 1_000;

export function toDatabaseCallError(error: unknown): DatabaseCallError {
  const { name, message } = error instanceof Error ? error : { name: 'unknown', message: '' };
  const kind = Object.hasOwn(kindsByName, name) ? kindsByName[name] : undefined;
  if (kind === undefined) return { kind: 'unreachable', name };
  if (kind === 'forbidden' || kind === 'misconfigured') return { kind, name };
  if (kind !== 'refused') return { kind };
  const override = kindsByMessage.find(([pattern]) => pattern.test(message));
  if (override !== undefined) return override[1];
  const [, sqlState] = /\bSQLState: ([0-9A-Z]{5})\b/.exec(message) ?? [];
  const [, position] = /\bPosition: (\d{1,9})\b/.exec(message) ?? [];
  const [line = ''] = message.split(/\n|; (?:Position|SQLState|Detail|Hint): /);
  const firstLine = line.replaceAll(/\barn:\S+/g, '[arn]').slice(0, maxMessageLength);
  return defined({
    kind,
    message: firstLine.trim() === '' ? name : firstLine.trim(),
    sqlState,
    position,
  });
}
