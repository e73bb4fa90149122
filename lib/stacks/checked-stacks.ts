import { type App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { type Stacks, addStacks } from './stacks.ts';
import type { Settings } from './settings.ts';

/** The stacks as they are deployed: `app.synth()` throws where one breaks a rule of AWS Solutions without a written reason. */
export function addCheckedStacks(app: App, functionsDirectory: string, settings: Settings): Stacks {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  return addStacks(app, functionsDirectory, settings);
}
