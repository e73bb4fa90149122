/** The origins of the setting `corsOrigins`, read from the functions' variables in the template. */
import * as z from 'zod';
import { environmentNames } from '../../contract/environment.ts';
import type { Template } from '../template/template.ts';

const environment = z.looseObject({
  Variables: z.looseObject({ [environmentNames.corsOrigins]: z.string().default('') }),
});

export function corsOriginsOf(template: Template): readonly string[] {
  const origins = template.of('AWS::Lambda::Function').flatMap(({ properties }) => {
    const { data } = environment.safeParse(properties['Environment']);
    return data?.Variables[environmentNames.corsOrigins]?.split(',') ?? [];
  });
  return [...new Set(origins)].filter((origin) => origin !== '');
}
