/**
 * The sign-in with the identity provider of the installation. The browser leaves for the provider and comes back with a code. What began
 * the sign-in waits in this tab, because the session's cookie is absent on the way back, and because another site can send a browser to
 * the page of the answer. (RFC 7636; OpenID Connect Core 1.0, section 3.1.2)
 */
import type { RequestBody, ResponseBody } from '../../client/route-types.ts';

export type Provider = NonNullable<ResponseBody<'getSignInProvider'>['provider']>;
type ProviderAnswer = RequestBody<'signInWithProvider'>;

/** `raise`: the person is signed in, and shows again who they are. */
type Purpose = 'sign-in' | 'raise';

interface Begun {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
  readonly purpose: Purpose;
  /** the page to return to, below the console */
  readonly back: string;
}

const storageName = 'stepwell-sign-in';
/** Below the root of the stage, to which the page's `<base>` leads. */
const answerPath = 'console/oidc';

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCodePoint(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** Leaves the page. @param back the page to return to, below the console */
export async function beginProviderSignIn(provider: Provider, purpose: Purpose, back: string): Promise<void> {
  const begun: Begun = {
    state: random(),
    nonce: random(),
    verifier: random(),
    redirectUri: new URL(answerPath, document.baseURI).href,
    purpose,
    back,
  };
  sessionStorage.setItem(storageName, JSON.stringify(begun));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(begun.verifier));
  const target = new URL(provider.authorizationEndpoint);
  const parameters = {
    response_type: 'code',
    client_id: provider.clientId,
    scope: provider.scope,
    redirect_uri: begun.redirectUri,
    state: begun.state,
    nonce: begun.nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
    ...(purpose === 'raise'
      ? {
          prompt: 'login',
          max_age: '0',
        }
      : {}),
  };
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
  location.assign(target.href);
}

/** Why the provider did not raise the session, which stays as it was. */
export const raiseFailure: { error: unknown } = { error: undefined };

export type TakenAnswer =
  | { readonly kind: 'answered'; readonly purpose: Purpose; readonly back: string; readonly answer: ProviderAnswer }
  /** the provider refused, or this tab did not begin the sign-in */
  | { readonly kind: 'failed'; readonly message: string };

/** Takes the answer from the address, once. Undefined: the page is not that of an answer. */
export function takeProviderAnswer(): TakenAnswer | undefined {
  const page = new URL(answerPath, document.baseURI);
  if (location.pathname !== page.pathname) return undefined;
  const search = new URLSearchParams(location.search);
  const begun = takeBegun();
  history.replaceState(null, '', new URL(`console${begun?.back ?? '/'}`, document.baseURI).href);
  if (begun === undefined || search.get('state') !== begun.state)
    return { kind: 'failed', message: 'This tab did not begin that sign-in. Begin it here.' };
  const code = search.get('code');
  if (code === null)
    return { kind: 'failed', message: `The identity provider did not sign you in: ${search.get('error') ?? 'no code'}.` };
  const { verifier, nonce, redirectUri, purpose, back } = begun;
  return { kind: 'answered', purpose, back, answer: { code, verifier, nonce, redirectUri } };
}

/** It is removed as it is read, so an answer is used once. */
function takeBegun(): Begun | undefined {
  const stored = sessionStorage.getItem(storageName);
  sessionStorage.removeItem(storageName);
  const value: unknown = stored === null ? undefined : JSON.parse(stored);
  return isBegun(value) ? value : undefined;
}

const isBegun = (value: unknown): value is Begun =>
  typeof value === 'object' &&
  value !== null &&
  (['state', 'nonce', 'verifier', 'redirectUri', 'back'] as const).every(
    (name) => typeof Reflect.get(value, name) === 'string',
  ) &&
  ['sign-in', 'raise'].includes(String(Reflect.get(value, 'purpose')));
