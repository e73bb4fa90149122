/** Recognizes AWS errors that come from wrong settings of the process, and says how to correct them. */

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

/** The SDK throws these as plain errors before it sends a request. */
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

/** DynamoDB's messages for keys that do not match the table: of a get, of a put, and three of queries. */
const keyErrors: readonly RegExp[] = [
  /provided key element does not match the schema/i,
  /missing the key/i,
  /query condition missed key schema element/i,
  /query key condition not supported/i,
  /condition parameter type does not match schema type/i,
];

const advice: Readonly<Record<SettingsErrorCode, string>> = {
  region_missing: 'No AWS region is set. Set AWS_REGION, or pass a client that has a region.',
  region_invalid: 'The AWS region is not a valid name. Correct AWS_REGION or the region of the client.',
  credentials_missing:
    'No AWS credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or run with a role.',
  credentials_refused: 'AWS refused the credentials. They are wrong, expired, or of another account. Renew them.',
  permission_missing: 'The credentials lack a permission. Grant the action that AWS names, or use other credentials.',
  table_not_found: 'The table does not exist in this region and account. Check the name of the table and AWS_REGION.',
  table_keys: 'The table does not have the string keys pk and sk. Use the name of the runs table of an installation.',
};

/** True if the SDK did not send the request because the region is missing or invalid. */
export const isRegionError = ({ message }: Error): boolean => regionErrors.some(([text]) => text.test(message));

/** @returns undefined if the error has another cause */
export function settingsErrorOf(error: unknown): SettingsError | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = codeOf(error);
  return code && { code, message: `${advice[code]} (${error.name}: ${error.message})` };
}

function codeOf({ name, message }: Error): SettingsErrorCode | undefined {
  if (name === 'ValidationException') return keyErrors.some((text) => text.test(message)) ? 'table_keys' : undefined;
  return codesByName[name] ?? regionErrors.find(([text]) => text.test(message))?.[1];
}
