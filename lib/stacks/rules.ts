import { type App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';

/** Makes `app.synth()` throw where a stack breaks a rule of AWS Solutions that nobody has acknowledged with a reason. */
export function applyRules(app: App): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
}
