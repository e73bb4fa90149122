/** Declared arguments: whether the declarations make sense. */
import { argumentFits } from './arguments.ts';
import type { ArgumentDeclaration, Finding } from './definition.ts';
import { finding, pointer } from './findings.ts';

export const checkArguments = (declarations: readonly ArgumentDeclaration[]): readonly Finding[] =>
  declarations.flatMap(({ name, type, default: preset }, index) => [
    ...(declarations.findIndex((other) => other.name === name) < index
      ? [finding('argument_invalid', pointer('options', 'args', index, 'name'), `the argument ${name} is declared twice`)]
      : []),
    ...(preset !== undefined && !argumentFits(type, preset)
      ? [
          finding(
            'argument_invalid',
            pointer('options', 'args', index, 'default'),
            `the default of ${name} is not of the type ${type}`,
          ),
        ]
      : []),
  ]);
