/** Says how many rows came since the list was read. The list stays as it is until somebody asks for them. */
export function NewRows({ count, isMore, onShow }: { count: number; isMore?: boolean; onShow: () => void }) {
  return (
    <div class="new-rows" role="status">
      {count > 0 && (
        <button type="button" onClick={onShow}>
          {count}
          {isMore && '+'} new – show
        </button>
      )}
    </div>
  );
}
