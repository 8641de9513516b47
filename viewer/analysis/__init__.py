"""“Why did I lose?”: the moves after which a side lost most, as an estimate, computed in a process of its own."""
