/** The environment variables of a World. They are read at its first call, because a build imports the World without them. */
import { WorldError } from './errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The scope of the key. */
export const worldScope = 'world:proxy';

export const variables = {
  /** the address of the API, with the stage if there is one */
  url: 'STEPWELL_URL',
  /** a key with the scope `world:proxy` */
  apiKey: 'STEPWELL_API_KEY',
  /** the application's name, where an environment has several */
  app: 'STEPWELL_APP',
  /** where Stepwell reaches this application, such as `https://shop.example.com` */
  appUrl: 'STEPWELL_APP_URL',
  /** the spec version of runs, where the SDK's packages cannot be found, as in a bundle */
  specVersion: 'STEPWELL_SPEC_VERSION',
  /** `remote`: deployed artifacts execute the runs, so this application registers no address */
  mode: 'WORKFLOW_EXECUTION_MODE',
  /** of the SDK: in the names of the queues of this application */
  queueNamespace: 'WORKFLOW_QUEUE_NAMESPACE',
  port: 'PORT',
} as const;

/** An empty variable counts as absent. */
export const readVariable = (env: Environment, name: keyof typeof variables): string | undefined =>
  env[variables[name]] || undefined;

export interface Connection {
  /** without a trailing slash */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly app: string | undefined;
}

/** @throws WorldError that names the variable; it never contains the key */
export function connectionOf(env: Environment): Connection {
  const baseUrl = readVariable(env, 'url');
  if (baseUrl === undefined) throw settingsError('url', 'is not set: set it to the address of the Stepwell API');
  if (!isHttpAddress(baseUrl)) throw settingsError('url', 'is not an http or https address without user, query and fragment');
  const apiKey = readVariable(env, 'apiKey');
  if (apiKey === undefined) throw settingsError('apiKey', `is not set: set it to a key with the scope ${worldScope}`);
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw settingsError('apiKey', 'is not printable ASCII without spaces');
  return { baseUrl: baseUrl.replace(/\/+$/, ''), apiKey, app: readVariable(env, 'app') };
}

/**
 * The address under which Stepwell delivers messages to this application. Undefined: this process takes none.
 * Only a service on this machine reaches `localhost`.
 */
export function appUrlOf(env: Environment): string | undefined {
  if (readVariable(env, 'mode') === 'remote') return undefined;
  const url = readVariable(env, 'appUrl');
  if (url !== undefined) {
    if (!isHttpAddress(url)) throw settingsError('appUrl', 'is not an http or https address without user, query and fragment');
    return url.replace(/\/+$/, '');
  }
  const port = readVariable(env, 'port');
  return port !== undefined && isOnThisMachine(readVariable(env, 'url')) ? `http://localhost:${port}` : undefined;
}

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];

const isOnThisMachine = (address: string | undefined): boolean => {
  const url = parseAddress(address);
  return url !== undefined && loopbackHosts.includes(url.hostname);
};

function isHttpAddress(address: string): boolean {
  const url = parseAddress(address);
  return url !== undefined && /^https?:$/.test(url.protocol) && `${url.username}${url.search}${url.hash}` === '';
}

const parseAddress = (address: string | undefined): URL | undefined => {
  try {
    return address === undefined ? undefined : new URL(address);
  } catch {
    return undefined;
  }
};

const settingsError = (name: keyof typeof variables, reason: string): WorldError =>
  new WorldError('WorkflowWorldError', `The environment variable ${variables[name]} ${reason}`, {
    status: 400,
    code: 'SETTINGS',
  });
