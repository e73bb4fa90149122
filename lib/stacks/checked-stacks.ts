import { type App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { type Stacks, addStacks } from './stacks.ts';
import type { Settings } from './settings.ts';

/** Adds the stacks with the cdk-nag AWS Solutions rules: `app.synth()` throws on a violation without an acknowledged reason. */
export function addCheckedStacks(app: App, functionsDirectory: string, settings: Settings): Stacks {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  return addStacks(app, functionsDirectory, settings);
}
