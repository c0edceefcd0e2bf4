// What is wrong now, on top of the page.
import { Button } from '../../components/button.tsx';
import { Chip } from '../../components/chip.tsx';
import { copyText } from '../../components/copy.tsx';
import { icons } from '../../components/icon.tsx';
import type { Problem } from './problems.ts';

const WORDS = { bad: 'Wrong', warn: 'Warning', info: 'Note' } as const;

export function Findings({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) {
    return (
      <section class="verdict good" aria-label="What is wrong now">
        <p class="verdict-title">All is well</p>
        <p class="muted">Nothing waits for too long, nothing failed, and there is room.</p>
      </section>
    );
  }
  return (
    <section class="verdict" aria-label="What is wrong now">
      <ul class="findings">
        {problems.map(({ tone, title, advice, command }) => (
          <li key={title} class={tone}>
            <Chip tone={tone}>{WORDS[tone]}</Chip>
            <div>
              <p class="finding-title">{title}</p>
              <p class="muted">{advice}</p>
              {command && (
                <p class="finding-command">
                  <code>{command}</code>
                  <Button
                    look="quiet"
                    icon={icons.copy}
                    label="Copy the command"
                    onClick={() => void copyText(command, 'Command')}
                  />
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
