import { Button } from './button.tsx';

interface PagerProps {
  /** Undefined where there is no such page. */
  onFirst?: (() => void) | undefined;
  onNext?: (() => void) | undefined;
  isBusy?: boolean;
  /** What is shown, such as '50 memories'. */
  children?: string;
}

/** Pages forward by cursors; the back button of the browser goes back. */
export function Pager({ onFirst, onNext, isBusy, children }: PagerProps) {
  if (!onFirst && !onNext) return children ? <p class="pager">{children}</p> : null;
  return (
    <nav class="pager" aria-label="Pages">
      <span>{children}</span>
      <Button onClick={onFirst} isDisabled={!onFirst}>
        First
      </Button>
      <Button onClick={() => history.back()} isDisabled={!onFirst}>
        Back
      </Button>
      <Button onClick={onNext} isDisabled={!onNext} isBusy={isBusy}>
        Next
      </Button>
    </nav>
  );
}
