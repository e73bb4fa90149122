/** What an error of the Data API says, in the words of the port. */
import type { DatabaseFault } from '../ports/databases.ts';

const kinds: Readonly<Record<string, 'busy' | 'forbidden' | 'misplaced' | 'refused' | 'timed_out' | 'waking'>> = {
  BadRequestException: 'refused',
  DatabaseErrorException: 'refused',
  UnsupportedResultException: 'refused',
  ValidationException: 'refused',
  StatementTimeoutException: 'timed_out',
  DatabaseResumingException: 'waking',
  ThrottlingException: 'busy',
  Throttling: 'busy',
  TooManyRequestsException: 'busy',
  AccessDeniedException: 'forbidden',
  ForbiddenException: 'forbidden',
  UnrecognizedClientException: 'forbidden',
  InvalidSignatureException: 'forbidden',
  CredentialsProviderError: 'forbidden',
  DatabaseNotFoundException: 'misplaced',
  NotFoundException: 'misplaced',
  HttpEndpointNotEnabledException: 'misplaced',
  InvalidSecretException: 'misplaced',
  SecretsErrorException: 'misplaced',
};

/** Said by a `BadRequestException` as well as by an error of its own, as the cluster's age has it. */
const saidOtherwise: readonly (readonly [RegExp, DatabaseFault])[] = [
  [/(row|result|response) size limit/i, { kind: 'too_large' }],
  [/HttpEndpoint is not enabled/i, { kind: 'misplaced', name: 'HttpEndpointNotEnabledException' }],
  [/^Communications link failure|^Transaction \S+ is not found/i, { kind: 'unreachable', name: 'BadRequestException' }],
];

/** Some details of the database repeat values, and those of the account are its owner's: of its words the first line counts. */
const longestWords = 1_000;

export function faultOf(trouble: unknown): DatabaseFault {
  const { name, message } = trouble instanceof Error ? trouble : { name: 'unknown', message: '' };
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (kind === undefined) return { kind: 'unreachable', name };
  if (kind === 'forbidden' || kind === 'misplaced') return { kind, name };
  if (kind !== 'refused') return { kind };
  const other = saidOtherwise.find(([said]) => said.test(message));
  if (other !== undefined) return other[1];
  const [, sqlState] = /\bSQLState: ([0-9A-Z]{5})\b/.exec(message) ?? [];
  const [, position] = /\bPosition: (\d{1,9})\b/.exec(message) ?? [];
  const [line = ''] = message.split(/\n|; (?:Position|SQLState|Detail|Hint): /);
  const words = line.replaceAll(/\barn:\S+/g, '[arn]').slice(0, longestWords);
  return {
    kind,
    message: words.trim() === '' ? name : words.trim(),
    ...(sqlState === undefined ? {} : { sqlState }),
    ...(position === undefined ? {} : { position }),
  };
}
