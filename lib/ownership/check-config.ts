/** What may be wrong with a configuration that is valid, here and now. */
import type { Environment } from '../app-host/environment.ts';
import { modeVariable } from '../app-host/environment.ts';
import { type Check, createCheck } from './check.ts';
import { type Config, type ReadConfigResult, serviceUrlOf } from './config.ts';

export interface ConfigEnvironment {
  readonly env: Environment;
  /** whether the name of the host is known here; undefined: it was not asked for */
  readonly isHostKnown: boolean | undefined;
}

export const isLoopback = (url: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname);
export const isPlainHttp = (url: string): boolean => url.startsWith('http:') && !isLoopback(url);

/** One check for each thing; a fault of the file is a failure each. */
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
      `the file says ${mode}, and ${modeVariable} says ${modeFromEnv}: the guard heeds the variable`,
    );
  if (mode === 'local' && remoteWorkerUrl !== undefined)
    return createCheck('warn', name, 'local: /execution/remoteWorkerUrl is not used');
  return createCheck('pass', name, mode === 'remote' ? 'runs are carried out by the service' : 'runs are carried out here');
};

const checkAddress = (config: Config, { isHostKnown }: ConfigEnvironment): readonly Check[] => {
  const { url, execution } = config;
  const address = serviceUrlOf(config);
  if (address === undefined) return [];
  const { host } = new URL(address);
  const hasTwoAddresses = url !== undefined && execution.remoteWorkerUrl !== undefined && url !== execution.remoteWorkerUrl;
  return [
    isPlainHttp(address)
      ? createCheck('warn', 'https', `${address} is not https: the key can be read on its way`)
      : createCheck('pass', 'https', `nobody reads what is sent to ${host}`),
    ...(isHostKnown === undefined
      ? []
      : [
          isHostKnown
            ? createCheck('pass', 'host', `${host} is known here`)
            : createCheck('warn', 'host', `${host} is not known here`),
        ]),
    ...(hasTwoAddresses ? [createCheck('warn', 'addresses', '/url and /execution/remoteWorkerUrl are two services')] : []),
  ];
};

const checkKey = ({ execution: { apiKeyEnv } }: Config, { env }: ConfigEnvironment): Check =>
  env[apiKeyEnv]?.trim()
    ? createCheck('pass', 'key', `${apiKeyEnv} is set`)
    : createCheck('warn', 'key', `${apiKeyEnv} is not set here`);
