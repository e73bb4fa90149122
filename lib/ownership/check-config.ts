/** Checks of a valid configuration against this machine: its variables, its DNS and its key. */
import type { Environment } from '../app-host/environment.ts';
import { modeVariable } from '../app-host/environment.ts';
import { type Check, createCheck } from './check.ts';
import { type Config, type ReadConfigResult, serviceUrlOf } from './config.ts';

export interface ConfigEnvironment {
  readonly env: Environment;
  /** whether DNS resolves the host's name here; undefined: not checked */
  readonly isHostKnown: boolean | undefined;
}

export const isLoopback = (url: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname);
export const isPlainHttp = (url: string): boolean => url.startsWith('http:') && !isLoopback(url);

/** One check per fact; each error of the file is a failed check. */
export const checkConfig = (path: string, readResult: ReadConfigResult, environment: ConfigEnvironment): readonly Check[] => {
  if (readResult.kind === 'invalid')
    return readResult.errors.map(({ pointer, message }) => createCheck('fail', 'schema', `${pointer} ${message}`));
  const { config } = readResult;
  return [
    createCheck('pass', 'schema', `${path} is valid`),
    checkMode(config, environment),
    ...checkAddress(config, environment),
    ...(config.execution.mode === 'remote' ? [checkKey(config, environment)] : []),
  ];
};

const checkMode = ({ execution: { mode, remoteWorkerUrl } }: Config, { env }: ConfigEnvironment): Check => {
  const name = 'mode';
  const modeFromEnv = env[modeVariable];
  if (modeFromEnv && modeFromEnv !== mode)
    return createCheck(
      'warn',
      name,
      `the file says ${mode}, and ${modeVariable} says ${modeFromEnv}: the guard uses the variable`,
    );
  if (mode === 'local' && remoteWorkerUrl !== undefined)
    return createCheck('warn', name, 'local: /execution/remoteWorkerUrl is not used');
  return createCheck('pass', name, mode === 'remote' ? 'runs execute in the service' : 'runs execute in the application');
};

const checkAddress = (config: Config, { isHostKnown }: ConfigEnvironment): readonly Check[] => {
  const { url, execution } = config;
  const address = serviceUrlOf(config);
  if (address === undefined) return [];
  const { host } = new URL(address);
  const hasTwoAddresses = url !== undefined && execution.remoteWorkerUrl !== undefined && url !== execution.remoteWorkerUrl;
  return [
    isPlainHttp(address)
      ? createCheck('warn', 'https', `${address} is not https: the API key is sent unencrypted`)
      : createCheck('pass', 'https', `the connection to ${host} is encrypted or stays on this machine`),
    ...(isHostKnown === undefined
      ? []
      : [
          isHostKnown
            ? createCheck('pass', 'host', `${host} has an address`)
            : createCheck('warn', 'host', `${host} has no address here: check DNS`),
        ]),
    ...(hasTwoAddresses ? [createCheck('warn', 'addresses', '/url and /execution/remoteWorkerUrl name two services')] : []),
  ];
};

const checkKey = ({ execution: { apiKeyEnv } }: Config, { env }: ConfigEnvironment): Check =>
  env[apiKeyEnv]?.trim()
    ? createCheck('pass', 'key', `${apiKeyEnv} is set`)
    : createCheck('warn', 'key', `${apiKeyEnv} is not set here`);
