/** docs/LIMITS.md as text: every limit of the code, by subject, and the quotas of AWS. */
import { quotas } from './aws-quotas.ts';
import { code } from './code.ts';
import { execution } from './execution.ts';
import { clientInterface } from './interface.ts';
import type { Limit, LimitPart, LimitSection } from './limit.ts';

const parts: readonly LimitPart[] = [clientInterface, execution, code];

export const limits: readonly Limit[] = parts.flatMap(({ sections }) => sections.flatMap((section) => section.limits));

const intro = `# Limits

Find every limit of Stepwell here: its value, what it counts for, what happens when a request or a run reaches it, and the file that defines it. For example, the row "Body that starts a run" says that a request body of more than 1,048,576 bytes is refused with \`payload_too_large\`.

A row names the setting of the deployment that changes its limit; [DEPLOY](DEPLOY.md#settings) lists the settings. Where a value is a quota of AWS, the row links the page of AWS.

\`npm run documents\` generates this page from the values that the code uses (\`scripts/limits\`).`;

const quotasIntro = `## Quotas of AWS that matter

These quotas belong to the AWS account, and no test checks them. Service Quotas in the AWS console shows the values of your account.`;

export const limitsDocument = (): string =>
  [intro, ...parts.flatMap(partBlocks), quotasIntro, quotaTable()].join('\n\n').concat('\n');

const partBlocks = ({ title, intro: partIntro, sections }: LimitPart): readonly string[] => [
  `## ${title}`,
  partIntro,
  ...sections.flatMap(sectionBlocks),
];

const sectionBlocks = (section: LimitSection): readonly string[] => [
  `### ${section.title}`,
  ...(section.intro === undefined ? [] : [section.intro]),
  table(
    ['limit', 'value', 'for each', 'what happens at it', 'defined in'],
    section.limits.map(({ name, value, per = section.per, atLimit, definedIn, quota }) => [
      name,
      quota === undefined ? value.text : `${value.text} ([AWS](${quota}))`,
      per,
      atLimit,
      definedIn.map((path) => `\`${path}\``).join(', '),
    ]),
  ),
  ...(section.outro ?? []),
];

const quotaTable = (): string =>
  table(
    ['quota', 'usual value', 'what it means here'],
    quotas.map(({ name, value, effect, page }) => [`[${name}](${page})`, value, effect]),
  );

/** A table of Markdown with aligned columns, as the formatter writes it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
