/** What may be wrong with a configuration that is valid, here and now. */
import type { Environment } from '../app-host/environment.ts';
import { modeVariable } from '../app-host/environment.ts';
import { type Check, checked } from './check.ts';
import { type Config, type ReadConfig, serviceUrlOf } from './config.ts';

export interface Surroundings {
  readonly env: Environment;
  /** whether the name of the host is known here; undefined: it was not asked for */
  readonly isHostKnown: boolean | undefined;
}

export const isLoopback = (url: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname);
export const isBare = (url: string): boolean => url.startsWith('http:') && !isLoopback(url);

/** One check for each thing; a fault of the file is a failure each. */
export const judgeConfig = (path: string, read: ReadConfig, surroundings: Surroundings): readonly Check[] => {
  if (read.kind === 'invalid') return read.faults.map(({ place, message }) => checked('fail', 'schema', `${place} ${message}`));
  const { config } = read;
  return [
    checked('pass', 'schema', `${path} is valid`),
    judgeMode(config, surroundings),
    ...judgeAddress(config, surroundings),
    ...(config.execution.mode === 'remote' ? [judgeKey(config, surroundings)] : []),
  ];
};

const judgeMode = ({ execution: { mode, remoteWorkerUrl } }: Config, { env }: Surroundings): Check => {
  const name = 'mode';
  const said = env[modeVariable];
  if (said && said !== mode)
    return checked('warn', name, `the file says ${mode}, and ${modeVariable} says ${said}: the guard heeds the variable`);
  if (mode === 'local' && remoteWorkerUrl !== undefined)
    return checked('warn', name, 'local: /execution/remoteWorkerUrl is not used');
  return checked('pass', name, mode === 'remote' ? 'runs are carried out by the service' : 'runs are carried out here');
};

const judgeAddress = (config: Config, { isHostKnown }: Surroundings): readonly Check[] => {
  const { url, execution } = config;
  const address = serviceUrlOf(config);
  if (address === undefined) return [];
  const { host } = new URL(address);
  const differ = url !== undefined && execution.remoteWorkerUrl !== undefined && url !== execution.remoteWorkerUrl;
  return [
    isBare(address)
      ? checked('warn', 'https', `${address} is not https: the key can be read on its way`)
      : checked('pass', 'https', `nobody reads what is sent to ${host}`),
    ...(isHostKnown === undefined
      ? []
      : [isHostKnown ? checked('pass', 'host', `${host} is known here`) : checked('warn', 'host', `${host} is not known here`)]),
    ...(differ ? [checked('warn', 'addresses', '/url and /execution/remoteWorkerUrl are two services')] : []),
  ];
};

const judgeKey = ({ execution: { apiKeyEnv } }: Config, { env }: Surroundings): Check =>
  env[apiKeyEnv]?.trim() ? checked('pass', 'key', `${apiKeyEnv} is set`) : checked('warn', 'key', `${apiKeyEnv} is not set here`);
