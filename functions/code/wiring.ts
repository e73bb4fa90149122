/** Where the code of deployments runs: on threads of this process, which is a function's or one of the owner's own. */
import { defined } from '../../lib/engine/defined.ts';
import { codeVariables } from '../../lib/api/schemas/code-variables.ts';
import { sessionClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { AssumedRole } from '../../lib/aws/assumed-role.ts';
import { LocalBundles } from '../../lib/bundles/local-bundles.ts';
import { ThreadSlots } from '../../lib/bundles/thread-slots.ts';
import { ThreadPrograms } from '../../lib/bundles/thread-programs.ts';
import type { DeploymentId } from '../../lib/engine/ids.ts';
import type { Artifacts } from '../../lib/ports/artifacts.ts';
import type { Bundles } from '../../lib/ports/bundles.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { Programs } from '../../lib/ports/programs.ts';
import { storedSetting } from '../settings-wiring.ts';

/** Of the memory of the process: code has buffers beside its heap. */
const heapShare = 0.6;

export interface CodeHostOptions {
  /** of the process */
  readonly memoryMb: number;
  /** Where artifacts are unpacked, and nothing else lies. Default: a folder in the temporary one, which is a function's own. */
  readonly folder?: string;
  /** takes what code prints */
  readonly print: (line: object) => void;
}

/** Both runtimes share the places for threads, and the folders of artifacts. */
export function createCodeRuntimes(
  ports: { readonly artifacts: Artifacts; readonly clock: Clock },
  { memoryMb, folder, print }: CodeHostOptions,
): { readonly bundles: Bundles; readonly programs: Programs } {
  const { codeRoleArn } = settingsFrom(process.env);
  const role = codeRoleArn === undefined ? undefined : new AssumedRole(sessionClient(), codeRoleArn, ports.clock);
  const host = defined({
    threadSlots: new ThreadSlots(defined({ artifacts: ports.artifacts, folder })),
    clock: ports.clock,
    memoryMb: Math.floor(memoryMb * heapShare),
    print,
    variables: storedSetting('codeVariables', codeVariables),
    readCredentialVariables: role === undefined ? undefined : (deploymentId: DeploymentId) => role.variables(deploymentId),
  });
  return { bundles: new LocalBundles(host), programs: new ThreadPrograms(host) };
}
