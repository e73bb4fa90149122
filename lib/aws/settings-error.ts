/** Errors of AWS that waiting does not cure: a setting of the process is wrong. What it is, and what to do. */

const settingsErrorCodes = [
  'region_missing',
  'region_invalid',
  'credentials_missing',
  'credentials_refused',
  'permission_missing',
  'table_not_found',
  'table_keys',
] as const;
type SettingsErrorCode = (typeof settingsErrorCodes)[number];

export interface SettingsError {
  readonly code: SettingsErrorCode;
  /** what happened, and what to do next */
  readonly message: string;
}

/** The SDK throws these as plain errors, before it sends anything. */
const regionErrors: readonly (readonly [RegExp, SettingsErrorCode])[] = [
  [/^Region is missing/, 'region_missing'],
  [/^Region not accepted: region=""/, 'region_missing'],
  [/^Invalid Configuration: Missing Region/, 'region_missing'],
  [/^Region not accepted/, 'region_invalid'],
];

const codesByName: Readonly<Record<string, SettingsErrorCode>> = {
  CredentialsProviderError: 'credentials_missing',
  AccessDenied: 'permission_missing',
  AccessDeniedException: 'permission_missing',
  UnrecognizedClientException: 'credentials_refused',
  InvalidClientTokenId: 'credentials_refused',
  InvalidSignatureException: 'credentials_refused',
  SignatureDoesNotMatch: 'credentials_refused',
  IncompleteSignature: 'credentials_refused',
  IncompleteSignatureException: 'credentials_refused',
  MissingAuthenticationToken: 'credentials_refused',
  MissingAuthenticationTokenException: 'credentials_refused',
  ExpiredToken: 'credentials_refused',
  ExpiredTokenException: 'credentials_refused',
  ResourceNotFoundException: 'table_not_found',
};

/** What DynamoDB says where a key of the request is none of the table's: to a get, to a put, and three ways to a query. */
const keyErrors: readonly RegExp[] = [
  /provided key element does not match the schema/i,
  /missing the key/i,
  /query condition missed key schema element/i,
  /query key condition not supported/i,
  /condition parameter type does not match schema type/i,
];

const advice: Readonly<Record<SettingsErrorCode, string>> = {
  region_missing: 'No AWS region is set. Set AWS_REGION, or give a client that has a region.',
  region_invalid: 'The AWS region is not a valid name. Correct AWS_REGION or the region of the client.',
  credentials_missing:
    'No AWS credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or run with a role.',
  credentials_refused: 'AWS refused the credentials. They are wrong, expired, or of another account: renew them.',
  permission_missing: 'The credentials have no permission for this. Grant the action that AWS names, or use other credentials.',
  table_not_found: 'There is no such table in this region and account. Check the name of the table and AWS_REGION.',
  table_keys: 'The table does not have the text keys pk and sk. Name the Runs table of an installation.',
};

/** A call that never left this machine because its region is not set, or is no region. */
export const isRegionError = ({ message }: Error): boolean => regionErrors.some(([text]) => text.test(message));

/** @returns undefined for an error that is not one of settings */
export function settingsErrorOf(error: unknown): SettingsError | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = codeOf(error);
  return code && { code, message: `${advice[code]} (${error.name}: ${error.message})` };
}

function codeOf({ name, message }: Error): SettingsErrorCode | undefined {
  if (name === 'ValidationException') return keyErrors.some((text) => text.test(message)) ? 'table_keys' : undefined;
  return codesByName[name] ?? regionErrors.find(([text]) => text.test(message))?.[1];
}
