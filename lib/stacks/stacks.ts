import type { App } from 'aws-cdk-lib';
import { DataStack } from './data-stack.ts';
import { RuntimeStack } from './runtime-stack.ts';
import type { Settings } from './settings.ts';

export interface Stacks {
  readonly data: DataStack;
  readonly runtime: RuntimeStack;
}

/** Adds the data stack and the runtime stack to the app. `functionsDirectory` contains the bundles, `<name>/index.mjs` each. */
export function addStacks(app: App, functionsDirectory: string, settings: Settings): Stacks {
  const data = new DataStack(app, `${settings.name}-Data`, settings);
  const runtime = new RuntimeStack(app, `${settings.name}-Runtime`, { settings, functionsDirectory, storage: data.storage });
  return { data, runtime };
}
