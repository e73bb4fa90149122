/** The prompt for the typed values, and the template with its placeholders marked. */
import type { ReactNode } from 'react';
import { parseTemplate } from '../../lens/placeholders.ts';
import type { Lens } from '../api.ts';
import { OwnText } from '../primitives/own-text.tsx';
import { fieldsOf, promptOf, valuesOf } from './lens-values.ts';

interface PromptProps {
  readonly lens: Lens;
  readonly values: Readonly<Record<string, string>>;
}

export function Prompt({ lens, values }: PromptProps): ReactNode {
  const rendered = promptOf(lens, valuesOf(fieldsOf(lens), values));
  return (
    <section className="card" aria-label="Prompt">
      <h2>Prompt</h2>
      {'text' in rendered ? (
        <pre className="prompt" tabIndex={0} aria-label="Rendered prompt">
          {rendered.text}
        </pre>
      ) : 'unbound' in rendered ? (
        <p className="notice wait">
          {rendered.unbound.length === 1 ? 'A value is missing: ' : 'Values are missing: '}
          <bdi>{rendered.unbound.join(', ')}</bdi>
        </p>
      ) : (
        <p className="notice bad">The prompt has {rendered.exceededLength.toLocaleString()} characters, which is too much.</p>
      )}
      <h3>Template</h3>
      <pre className="prompt" tabIndex={0} aria-label="Template">
        {parseTemplate(lens.template).parts.map((part, index) =>
          'text' in part ? (
            // A label can occur twice, and the parts of one template never move.
            <OwnText key={index}>{part.text}</OwnText>
          ) : (
            <mark key={index}>{`[[${part.placeholder.label}${part.placeholder.isOptional ? '!' : ''}]]`}</mark>
          ),
        )}
      </pre>
    </section>
  );
}
